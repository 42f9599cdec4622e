// Objects glide from where they stood in one drawing to where they stand in the next one.

const GLIDE = 260; // milliseconds
const GLIDING = 400; // objects at most: looking where they are takes time
const shown = new WeakMap(); // by box: which frame is shown in it, and since when
const still = matchMedia("(prefers-reduced-motion: reduce)");

/** Shows the drawing of a frame in `box`; from one frame to the next objects glide, where there is time to see it. */
function exchange(box, drawing, frame) {
  const old = box.firstChild;
  if (old === drawing) return;
  const now = performance.now();
  const { frame: last, at } = shown.get(box) ?? { frame, at: now };
  shown.set(box, { frame, at: now });
  const seen = Math.abs(frame - last) === 1 && now - at >= GLIDE && !still.matches;
  const before = seen ? whereObjectsAre(old) : new Map();
  box.replaceChildren(drawing);
  if (before.size && before.size <= GLIDING) glide(drawing, before);
}

/** The lower left corners of a drawing's objects by name, in pixels of the screen, which marks above do not move. */
function whereObjectsAre(drawing) {
  const found = new Map();
  for (const element of drawing.querySelectorAll("[data-object]")) {
    const name = element.dataset.object;
    if (found.has(name)) continue;
    const { left, bottom } = element.getBoundingClientRect();
    found.set(name, { element, x: left, y: bottom });
  }
  return found;
}

function glide(drawing, before) {
  const scale = drawing.getScreenCTM()?.a || 1;
  const moved = new Map(); // by element: how far it was from where it is
  for (const [name, { element, x, y }] of whereObjectsAre(drawing)) {
    const from = before.get(name);
    if (!from) continue;
    const by = [(from.x - x) / scale, (from.y - y) / scale];
    moved.set(element, by);
    const [right, down] = moved.get(element.parentElement.closest("[data-object]")) ?? [0, 0]; // what carries it
    const [dx, dy] = [by[0] - right, by[1] - down];
    if (Math.abs(dx) + Math.abs(dy) < 1) continue;
    element.animate([{ transform: `translate(${dx}px, ${dy}px)` }, { transform: "none" }], { duration: GLIDE, easing: "ease-in-out" });
  }
}
