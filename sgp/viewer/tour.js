// A stop of the tour: drawings made and escaped by our Python, and the keys that go to the stop before and after.

const STEPS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };
const mounted = new WeakMap(); // Streamlit calls again for the same element on every rerun

function figure(kind, title, drawing) {
  const element = document.createElement("figure");
  element.className = kind;
  const caption = document.createElement("figcaption");
  caption.textContent = title;
  const parsed = new DOMParser().parseFromString(drawing, "image/svg+xml").documentElement;
  element.append(...(title ? [caption] : []), document.importNode(parsed, true));
  return element;
}

export default ({ data: bytes, parentElement, setTriggerValue }) => {
  const { scenes, chart, heading } = JSON.parse(new TextDecoder().decode(bytes));
  const row = parentElement.querySelector(".row");
  row.classList.toggle("both", scenes.length > 0 && chart !== "");
  const beside = document.createElement("div");
  beside.className = "scenes";
  beside.append(...scenes.map(([title, drawing]) => figure("scene", title, drawing)));
  row.replaceChildren(...(scenes.length ? [beside] : []), ...(chart ? [figure("chart", heading, chart)] : []));
  const known = mounted.has(parentElement);
  mounted.set(parentElement, setTriggerValue);
  if (known) return;
  document.addEventListener("keydown", function onKey(event) {
    if (!parentElement.isConnected) return document.removeEventListener("keydown", onKey);
    const target = event.composedPath()[0];
    if (!(event.key in STEPS) || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName)) return;
    event.preventDefault();
    mounted.get(parentElement)("go", STEPS[event.key]);
  });
};
