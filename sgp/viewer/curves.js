// Actions left, open goals and cost over the steps, with plateau and ties marked.

/** Actions left (if recorded), open goals and cost over the steps, above each other; returns what moves the cursor. */
function drawCurves(box, rollout, go) {
  const width = 640;
  const [left, right, top] = [10, 10, 20];
  const last = rollout.steps.length;
  const x = (place) => left + ((width - left - right) * place) / Math.max(last, 1);
  const costs = rollout.steps.map((step) => step.candidates[step.chosen].cost);
  const lefts = rollout.frames.map((frame) => (frame.left === undefined ? [0, Infinity] : boundsOf(frame.left)));
  const known = lefts.some(([, high]) => high < Infinity);
  const most = lefts.map(([low, high]) => (high < Infinity ? high : null));
  const exact = lefts.every(([low, high]) => low === high);
  const curves = [
    ...(known ? [{ title: exact ? "actions left" : "actions left (area: from lower to upper bound)", values: most, under: lefts.map(([low]) => low), colour: "var(--ink)", low: 0 }] : []),
    { title: "open goals", values: rollout.frames.map((frame) => frame.open), colour: "var(--blue)", low: 0, steps: true },
    { title: "cost of the chosen", values: costs, colour: "var(--orange)", dash: "5 2" },
  ];
  const height = 74;
  const drawing = s("svg", { viewBox: `0 0 ${width} ${curves.length * (height + 14)}`, role: "img" });
  drawing.append(s("title", {}, "Actions left, open goals and cost over the steps; click to go there"));
  const labels = curves.map((curve, index) => {
    const base = index * (height + 14);
    const finite = curve.values.filter((value) => value !== null);
    const high = Math.max(...finite, curve.low ?? -Infinity, finite.length ? -Infinity : 1);
    const low = Math.min(...finite, curve.low ?? Infinity, finite.length ? Infinity : 0);
    const y = (value) => base + height - ((height - top) * (value - low)) / (high - low || 1);
    if (rollout.plateau) {
      const [from, to] = rollout.plateau.map(x);
      drawing.append(s("rect", { x: from, y: base + top, width: to - from, height: height - top, fill: "var(--rule)", opacity: 0.45 }));
      if (index === 0 && to - from > 60)
        drawing.append(s("text", { x: (from + to) / 2, y: base + height - 4, class: "faint", "text-anchor": "middle" }, "plateau"));
    }
    drawing.append(s("line", { x1: left, x2: width - right, y1: base + height, y2: base + height, stroke: "var(--rule)" }));
    let path = "";
    let pen = false;
    curve.values.forEach((value, place) => {
      if (value === null) pen = false;
      else {
        path += pen && curve.steps ? `H${x(place).toFixed(1)}V${y(value).toFixed(1)}` : `${pen ? "L" : "M"}${x(place).toFixed(1)} ${y(value).toFixed(1)}`;
        pen = true;
      }
    });
    const bounded = curve.under ? curve.values.flatMap((value, place) => (value === null ? [] : [[place, value, curve.under[place]]])) : [];
    const edge = (those, which) => those.map((each) => `${x(each[0]).toFixed(1)} ${y(each[which]).toFixed(1)}`);
    if (bounded.length) drawing.append(s("polygon", { points: [...edge(bounded, 1), ...edge(bounded.toReversed(), 2)].join(" "), fill: curve.colour, opacity: 0.2 }));
    drawing.append(s("path", { d: path, fill: "none", stroke: curve.colour, "stroke-width": 2, "stroke-dasharray": curve.dash || "none" }));
    const dot = s("circle", { r: 4, fill: curve.colour });
    const label = s("text", { x: left + 6, y: base + 14 }); // beside the cursor at the first step
    const range = s("text", { x: width - right, y: base + 14, class: "faint", "text-anchor": "end" }, `${short(low)} to ${short(high)}`);
    drawing.append(dot, label, range);
    return { curve, dot, label, y };
  });
  const bottom = curves.length * (height + 14) - 3;
  rollout.steps.forEach((step, place) => {
    if (step.tie) drawing.append(s("text", { x: x(place), y: bottom, "text-anchor": "middle", class: "faint" }, "="));
  });
  const cursor = s("line", { y1: top, y2: bottom - 10, stroke: "var(--ink)", "stroke-width": 1 });
  drawing.append(cursor);
  const seek = (event) => {
    const frame = drawing.getBoundingClientRect();
    const place = ((event.clientX - frame.left) / frame.width) * width;
    go(Math.round(((place - left) / (width - left - right)) * last));
  };
  drawing.addEventListener("pointerdown", (event) => {
    drawing.setPointerCapture(event.pointerId);
    seek(event);
  });
  drawing.addEventListener("pointermove", (event) => event.buttons && seek(event));
  box.append(drawing);
  return (at) => {
    cursor.setAttribute("x1", x(at));
    cursor.setAttribute("x2", x(at));
    for (const { curve, dot, label, y } of labels) {
      const value = curve.values[at];
      const there = value !== undefined && value !== null;
      dot.setAttribute("visibility", there ? "visible" : "hidden");
      if (there) {
        dot.setAttribute("cx", x(at));
        dot.setAttribute("cy", y(value));
      }
      label.textContent = `${curve.title}${there ? `: ${short(value)}` : ""}`;
    }
  };
}
