// A stop of the tour: drawings made and escaped by our Python, and the keys that go to the stop before and after.

const STEPS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };
const mounted = new WeakMap(); // Streamlit calls again for the same element on every rerun

export default ({ data: bytes, parentElement, setTriggerValue }) => {
  const data = JSON.parse(new TextDecoder().decode(bytes));
  const figures = data.pictures.map(([title, drawing]) => {
    const figure = document.createElement("figure");
    const parsed = new DOMParser().parseFromString(drawing, "image/svg+xml").documentElement;
    figure.append(document.importNode(parsed, true), title);
    return figure;
  });
  parentElement.querySelector(".row").replaceChildren(...figures);
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
