// The tree of branches: a drawing made and escaped by our Python, whose rows can be clicked or entered.

const drawn = new WeakMap(); // Streamlit calls again for the same element on every rerun

export default ({ data: bytes, parentElement, setTriggerValue }) => {
  const data = JSON.parse(new TextDecoder().decode(bytes));
  const box = parentElement.querySelector(".tree");
  if (drawn.get(box) === data.drawing) return;
  drawn.set(box, data.drawing);
  const parsed = new DOMParser().parseFromString(data.drawing, "image/svg+xml").documentElement;
  const drawing = document.importNode(parsed, true);
  drawing.setAttribute("role", "group"); // an image would hide the buttons in it from screen readers
  for (const row of drawing.querySelectorAll("[data-branch]")) {
    const show = () => setTriggerValue("shown", row.dataset.branch);
    row.addEventListener("click", show);
    row.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation(); // Space plays the player beside it
      show();
    });
  }
  box.replaceChildren(drawing);
};
