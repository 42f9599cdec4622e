// The gallery's filters, and their values in the address: #domain=gripper&outcome=not+solved.

const gallery = document.querySelector(".gallery");
const filters = document.querySelector("form");

function show() {
  const chosen = new FormData(filters);
  const fits = (item) => [...chosen].every(([name, value]) => !value || item.dataset[name].split("\n").includes(value));
  for (const item of gallery.children) item.hidden = !fits(item);
  const shown = [...gallery.children].filter((item) => !item.hidden).length;
  filters.querySelector("output").textContent = `${shown} of ${gallery.children.length} rollouts`;
}

function open() {
  const named = [...new URLSearchParams(location.hash.slice(1))].filter(([name]) => filters.elements[name]);
  for (const [name, value] of named) filters.elements[name].value = value;
  show();
  if (named.length) filters.scrollIntoView();
}

filters.hidden = false;
filters.addEventListener("change", show);
window.addEventListener("hashchange", open);
open();
