// What walks through a rollout or a comparison: buttons, scrubber, play, speed, keys and their help.

const STEPS_PER_SECOND = 2; // at speed 1
const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];
const SIDEWAYS = ["ArrowRight", "ArrowLeft"];
const REPORT_AFTER = 400; // milliseconds of rest before the host hears of a new place

/** How a link writes a place: "end" where the places before it are steps, which are counted from 1. */
const inAddress = (at, last, first) => (first && at === last ? "end" : at + first);

/** The page's own address with the step in it. */
function linkToHere(step) {
  const link = new URL(location.href);
  link.searchParams.set("step", step);
  return link.href;
}

/**
 * Walks through the places 0 to `last`, a `unit` apart, and has `show(at, playing)` draw one, at most once a frame.
 *
 * `name(at)` says a place in words; in addresses place 0 has the number `first`. `bindings` are more keys, `keys` says
 * what they do, `notes` are elements below in the help, `marks` stand below the scrubber (marks.js). `onMove` hears of every move, `onEnd` of the end of it all,
 * `options.onStep` of a place where the user rests. With `options.keys` "own", keys count while the focus is inside, and nobody else in the page has them.
 */
function transport({ last, unit, first, name, show, bindings, keys, notes, marks, onMove, onEnd }, options) {
  const clamp = (place) => Math.max(0, Math.min(last, place));
  let at = clamp(options.step || 0);
  let speed = 1;
  let playing = 0; // the animation frame asked for, or 0
  let asked = 0; // the frame that draws, or 0
  let resting = 0;
  let root = null;
  let described = null; // what the sentence beside the picture is about
  const linked = options.link !== null;
  const own = options.keys === "own";

  const play = h("button", { type: "button", class: "play", title: "Play or pause (Space)", onclick: toggle });
  const scrub = h("input", { type: "range", min: 0, max: last, step: 1, "aria-label": `Which ${unit}`,
    oninput: (event) => go(Number(event.target.value)) }); // prettier-ignore
  const place = h("output", { class: "place" });
  const speeds = h("select", { "aria-label": "Speed", title: "Speed (+ and −)",
    onchange: (event) => { speed = Number(event.target.value); } },
    ...SPEEDS.map((each) => h("option", { value: each, selected: each === 1 }, `${each}×`))); // prettier-ignore
  const said = h("p", { class: "why", "aria-live": "polite", tabindex: "0" }); // long words are scrolled
  const close = button("Close", "Close (Esc)", () => {});
  const listed = [
    ["→ or k, ← or j", `next ${unit}, ${unit} before`],
    ["Home, End", "start, end"],
    ["Space", "play, pause"],
    ["+, −", "faster, slower"],
    ...keys,
    ...(linked ? [["c", `copy a link to this ${unit}`]] : []),
    ["?", "this help"],
  ];
  const help = h("div", { class: "help", hidden: true, role: "dialog", "aria-label": "Keys", onclick: toggleHelp },
    h("section", {}, h("h3", {}, "Keys"), h("dl", {}, ...listed.flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)])),
      ...notes, close)); // prettier-ignore

  /** The row of controls; the host's own stand before the help. */
  function controls(...more) {
    return h("div", { class: "controls" },
      button(icon("first"), "Start (Home)", () => go(0)),
      button(icon("back"), `One ${unit} back (left arrow or j)`, () => go(at - 1)),
      play,
      button(icon("next"), `One ${unit} on (right arrow or k)`, () => go(at + 1)),
      button(icon("end"), "End (End)", () => go(last)),
      h("span", { class: "scrub" }, scrub, markRow(marks ?? [], last, go, () => at)), place, speeds, ...more,
      linked ? button("copy link", `Copy a link to this ${unit} (c)`, copyLink) : "",
      button("?", "Keys (?)", toggleHelp)); // prettier-ignore
  }

  function go(to, keepPlaying = false) {
    if (!keepPlaying) pause();
    at = clamp(to);
    onMove?.();
    schedule();
  }

  function schedule() {
    if (!asked) asked = requestAnimationFrame(render);
  }

  function render() {
    asked = 0;
    const state = playing ? "yes" : "no";
    if (root.dataset.playing !== state) play.replaceChildren(icon(playing ? "pause" : "play"), playing ? " pause" : " play");
    scrub.value = at;
    place.textContent = name(at);
    const mark = marks?.find((each) => each.place === at);
    scrub.setAttribute("aria-valuetext", mark ? `${place.textContent}: ${mark.words}` : place.textContent);
    said.setAttribute("aria-live", playing ? "off" : "polite");
    show(at);
    Object.assign(root.dataset, { step: at, playing: state });
    clearTimeout(resting);
    if (options.onStep && !playing) resting = setTimeout(() => options.onStep(at), REPORT_AFTER);
  }

  function toggle() {
    if (playing) return pause();
    if (at === last) go(0);
    let before = performance.now();
    let owed = 0;
    const tick = (now) => {
      owed += ((now - before) / 1000) * speed * STEPS_PER_SECOND;
      before = now;
      const steps = Math.floor(owed);
      owed -= steps;
      playing = at + steps < last ? requestAnimationFrame(tick) : 0;
      if (steps) go(at + steps, true);
      else if (!playing) schedule();
    };
    playing = requestAnimationFrame(tick);
    return schedule();
  }

  function pause() {
    if (playing) cancelAnimationFrame(playing);
    if (playing) schedule();
    playing = 0;
  }

  function changeSpeed(direction) {
    speed = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(speed) + direction))];
    speeds.value = speed;
  }

  function toggleHelp() {
    help.hidden = !help.hidden;
    (help.hidden ? root : close).focus({ preventScroll: true });
  }

  async function copyLink() {
    const link = (options.link ?? linkToHere)(inAddress(at, last, first));
    try {
      await navigator.clipboard.writeText(link);
      say(`Copied: ${link}`);
    } catch {
      say(`Copy it from here: ${link}`); // the browser gives no clipboard to this page
    }
  }

  function say(...words) {
    said.replaceChildren(...words);
  }

  /** Says what is seen, where that changed: drawing the same again leaves a message in its place. */
  function describe(seen, ...words) {
    if (seen !== described) say(...words);
    described = seen;
  }

  const bound = {
    ArrowRight: () => go(at + 1),
    k: () => go(at + 1),
    ArrowLeft: () => go(at - 1),
    j: () => go(at - 1),
    Home: () => go(0),
    End: () => go(last),
    " ": toggle,
    "+": () => changeSpeed(1),
    "-": () => changeSpeed(-1),
    "?": toggleHelp,
    ...(linked && { c: copyLink }),
    ...bindings,
    Escape() {
      if (!help.hidden) toggleHelp();
      bindings.Escape?.();
    },
  };

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || !(event.key in bound)) return;
    if (!help.hidden && !["Escape", "?"].includes(event.key)) return; // nothing moves behind the help
    if (!root.getClientRects().length) return; // Streamlit keeps a player that was replaced, unseen, for a while
    const target = event.composedPath()[0];
    const inside = event.composedPath().includes(root);
    const tag = target.tagName;
    if (target.isContentEditable || tag === "TEXTAREA" || (tag === "INPUT" && target.type !== "range")) return;
    if (tag === "SELECT" && !(inside && SIDEWAYS.includes(event.key))) return; // its other keys choose an option
    if (!inside && (tag === "INPUT" || target.closest?.('[role="combobox"], [role="listbox"], [role="dialog"]'))) return;
    if ([" ", "Enter"].includes(event.key) && ["BUTTON", "A", "SUMMARY"].includes(tag)) return; // they press what has the focus
    if (event.key !== "Escape") event.preventDefault(); // Escape may mean something to the page as well
    bound[event.key]();
  }

  /** Puts the built `element` into `host`, draws the first place and listens; returns what the host holds. */
  function start(host, element, css) {
    root = element;
    const style = h("style", {}, css);
    const listening = own ? root : document;
    const matchTheme = () => followTheme(root);
    if (own) root.dataset.lmSuppressShortcuts = ""; // JupyterLab's own keys: d, d would delete the cell
    host.append(style, root);
    matchTheme();
    listening.addEventListener("keydown", onKey);
    render();
    return {
      matchTheme,
      go,
      last,
      get at() {
        return at;
      },
      place: () => ({ at, end: at === last && !playing, playing: playing > 0, speed, focused: root.matches(":focus-within") }),
      takeFocus: () => root.focus({ preventScroll: true }),
      /** Goes on as another player of this rollout was: with the focus, playing, at its speed. */
      goOn(before) {
        speeds.value = speed = before.speed;
        if (before.focused) root.focus({ preventScroll: true });
        if (before.playing && at < last) toggle();
      },
      destroy() {
        pause();
        onEnd?.();
        cancelAnimationFrame(asked);
        clearTimeout(resting);
        listening.removeEventListener("keydown", onKey);
        style.remove();
        root.remove();
      },
    };
  }

  return {
    controls,
    help,
    said,
    say,
    describe,
    go,
    schedule,
    start,
    rest: () => clearTimeout(resting),
    get at() {
      return at;
    },
  };
}
