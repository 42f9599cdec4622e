// Where a player stands: Streamlit's components v2 and anywidget, both by the default export of a script, and a page.

const mounted = new WeakMap(); // Streamlit calls again for the same element on every rerun
let chose = false; // whether the next player that is built was chosen in a player: keys then belong to it

/**
 * The default export: `name` is the data's name, `mount` builds the player, `first` is the number of its first place.
 *
 * Streamlit calls it with its component, anywidget with nothing.
 */
function hosts(name, mount, first) {
  return (component) => (component ? inStreamlit(component, name, mount) : { render: (view) => inNotebook(view, mount, first) });
}

function inStreamlit({ data: bytes, parentElement, setStateValue, setTriggerValue }, name, mount) {
  const data = JSON.parse(new TextDecoder().decode(bytes));
  const before = mounted.get(parentElement);
  if (before && before.id === data[name].id) before.player.matchTheme();
  else {
    // A rollout that grows goes on where the user is; who is at its end stays at its end.
    const { grows } = data[name];
    const place = before && grows && before.grows === grows ? before.player.place() : null;
    const step = place ? (place.end ? Infinity : place.at) : data.step;
    if (before) before.player.destroy();
    const tell = (step) => (mounted.get(parentElement).told = step);
    const onStep = (step) => step !== mounted.get(parentElement)?.told && setStateValue("step", tell(step));
    const onBranch = data.branching && ((step, rank) => setTriggerValue("branch", { step: step + 1, rank: rank + 1 }));
    const onNote = data[name].notes && ((place, text) => setTriggerValue("note", { place, text }));
    const onChoose = (name, title) => {
      chose = true;
      setTriggerValue("choice", { name, title });
    };
    const player = mount(parentElement, data[name], { step, onStep, onBranch, onNote, coverage: data.coverage, choices: data.choices, onChoose });
    mounted.set(parentElement, { id: data[name].id, grows, player, told: player.at });
    if (place) player.goOn(place);
    else if (chose || document.activeElement?.closest('[data-testid="stSelectbox"]')) player.takeFocus(); // it was chosen there
    chose = false;
  }
  return () =>
    setTimeout(() => {
      if (parentElement.isConnected) return;
      mounted.get(parentElement)?.player.destroy();
      mounted.delete(parentElement);
    });
}

/** anywidget: traits `data`, `step` (both ways) and `link` (the dashboard's address without the step, or ""). */
function inNotebook({ model, el }, mount, first) {
  const base = model.get("link");
  const link = base ? (step) => `${base}&step=${step}` : null;
  const opened = h("a", { target: "_blank", rel: "noopener" }, "open this step in the dashboard");
  const point = () => link && (opened.href = link(inAddress(player.at, player.last, first)));
  const onStep = (place) => {
    point();
    if (model.get("step") === place + first) return;
    model.set("step", place + first);
    model.save_changes();
  };
  const player = mount(el, model.get("data"), { step: model.get("step") - first, keys: "own", onStep, link });
  if (link) el.querySelector(".sgp").append(h("p", { class: "leave" }, opened, ", while ", h("code", {}, "sgp dashboard"), " runs"));
  for (const event of ["pointerenter", "focus", "click"]) opened.addEventListener(event, point); // at once, while it plays
  point();
  const follow = () => model.get("step") !== player.at + first && player.go(model.get("step") - first);
  model.on("change:step", follow);
  const theme = new MutationObserver(player.matchTheme);
  theme.observe(document.body, { attributeFilter: ["data-jp-theme-name"] });
  return () => {
    theme.disconnect();
    model.off("change:step", follow);
    player.destroy();
  };
}

/** A page of its own: data in a script element, the place in the address (else the data's `start`). Framed, it tells the page around its height. */
async function inPage(mount, first) {
  const packed = Uint8Array.from(atob(document.getElementById("rollout").textContent), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")); // in all browsers since 2023
  const rollout = await new Response(unpacked).json();
  const asked = new URLSearchParams(location.hash.slice(1)).get("step");
  const named = asked === "end" ? Infinity : Number.parseInt(asked, 10);
  const step = (Number.isNaN(named) ? (rollout.start ?? first) : named) - first;
  const onStep = (place) => history.replaceState(null, "", `#step=${inAddress(place, player.last, first)}`);
  const link = (place) => Object.assign(new URL(location.href), { hash: `step=${place}` }).href;
  const host = document.getElementById("player");
  if (parent === window) host.style.setProperty("--sgp-room", "calc(100vh - 112px)");
  else new ResizeObserver(() => parent.postMessage({ height: host.offsetHeight + 2 }, "*")).observe(host);
  const player = mount(host, rollout, { step, onStep, link });
  return player;
}
