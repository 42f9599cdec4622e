// The user's notes on the steps of a rollout: shown below the sentence, and written where the host stores them.

const LONGEST_NOTE = 1000; // characters, as in notes.py of the dashboard

/**
 * `notes` are texts by place. `element` shows the note of the place that `show` names; `edit` opens it for writing.
 * `onNote(place, text)` stores a changed note (null: notes are only read); `changed` is called after a change.
 */
function stepNotes(notes, onNote, changed) {
  const texts = new Map(Object.entries(notes).map(([place, text]) => [Number(place), text]));
  const text = h("p", { onclick: () => onNote && edit(), title: onNote ? "Change this note (e)" : null });
  const box = h("textarea", { rows: 2, maxlength: LONGEST_NOTE, "aria-label": "Note on this step", hidden: true,
    placeholder: "Note on this step; an empty note is deleted", onblur: store, onkeydown: onKey }); // prettier-ignore
  const element = h("div", { class: "note" }, text, box);
  let shown = 0;
  let edited = null; // the place whose note is being written, or null

  function edit() {
    edited = shown;
    box.value = texts.get(edited) ?? "";
    render();
    box.focus();
  }

  function store() {
    if (edited === null) return;
    const [place, written] = [edited, box.value.trim()];
    edited = null;
    if (written !== (texts.get(place) ?? "")) {
      if (written) texts.set(place, written);
      else texts.delete(place);
      onNote(place, written);
      changed();
    }
    render();
  }

  function onKey(event) {
    if (event.key === "Escape") box.value = texts.get(edited) ?? ""; // as before
    else if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    element.closest(".sgp").focus({ preventScroll: true }); // leaving the box stores its text
  }

  function show(place) {
    if (place !== shown) store();
    shown = place;
    render();
  }

  function render() {
    const note = texts.get(shown);
    box.hidden = edited === null;
    text.hidden = edited !== null || !note;
    text.textContent = note ? `✎ ${note}` : "";
    element.hidden = box.hidden && text.hidden;
  }

  return { element, edit, show, has: (place) => texts.has(place) };
}
