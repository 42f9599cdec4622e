"""What all pages share: errors as sentences, escaping, choices that are part of the address, data for components."""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlencode

import streamlit as st

import sgp

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:&])")


def run_page(main: Callable[[], None]) -> None:
    """Run a page; an expected error becomes one sentence."""
    page = main.__code__.co_filename
    refused, sentence, names = st.session_state.pop("refused", ("", "", ()))
    if refused == page:
        show_refused(sentence, names)
        return
    st.session_state["opened"] = st.session_state.get("page") != page
    st.session_state["page"] = page
    try:
        main()
    except sgp.SgpError as error:
        st.error(plain(str(error)))
    st.session_state["opened"] = False  # for fragments that run again


def refuse(sentence: str, *names: str) -> NoReturn:
    """Show a sentence instead of the page, and a button that opens it without the parameters `names`."""
    page = st.session_state.pop("page")  # opened again by the button
    st.session_state["refused"] = page, sentence, names
    st.rerun()  # what was drawn before disappears


def show_refused(sentence: str, names: Sequence[str]) -> None:
    """The sentence of `refuse`, and its button."""
    rest = {name: st.query_params.get_all(name) for name in st.query_params if name not in names}
    st.error(plain(sentence))
    st.button("Open the page without it", on_click=st.query_params.from_dict, args=(rest,))


def check_link(label: str, options: Iterable[str], *names: str, shown: Callable[[str], str] = str) -> None:
    """Refuse the page if the link that opened it has a value of the parameters `names` that is no option.

    `shown` makes an option of a value that is written in another way. If Streamlit binds a filter to the address, check
    all links before it is drawn: a page that does not draw it again loses its parameter.
    """
    if not st.session_state.get("opened"):
        return  # another choice made the value impossible
    known = {"", *options}
    given = in_order(each for name in names for each in st.query_params.get_all(name))
    missing = [each for each in given if not {each, shown(each)} & known]
    if missing:
        value = "value" if len(missing) == 1 else "values"
        named = ", ".join(f"'{each}'" for each in missing)
        refuse(
            f"This link has {'a ' * (value == 'value')}{value} for {label} that this page does not have: {named}.",
            *names,
        )


def check_step(last: int, first: int = 1, linked: bool | None = None) -> None:
    """Refuse the page if the link that opened it has a step that is none of `first` to `last`, nor the end.

    `linked`: whether the step is that of the link (default: in the page's first run).
    """
    given = st.query_params.get("step", "")
    if linked is None:
        linked = bool(st.session_state.get("opened"))
    if linked and given not in ("", "end", *map(str, range(first, last + 1))):
        refuse(f"Step '{given}' of this link does not exist; expected {first} to {last}, or end.", "step")


def without_outcome(title: str) -> str:
    """The name of a model without the outcome in parentheses."""
    return title.split(" (", maxsplit=1)[0]


def css(name: str) -> str:
    """The style sheet of a page or component."""
    return (Path(__file__).parent / "styles" / f"{name}.css").read_text(encoding="utf-8")


def image(svg: str, words: str, kind: str = "") -> str:
    """A drawing as an image, because Streamlit removes SVG from HTML; inverted with a dark theme."""
    source = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
    kind += " inverted" if st.context.theme.type == "dark" else ""
    return f'<img class="{kind}" src="{source}" alt="{escape(words)}">'


def plain(words: str) -> str:
    """Escape words for Streamlit's Markdown, so that names from PDDL are shown as they are."""
    return _MARKUP.sub(r"\\\1", words)


def in_order(values: Iterable) -> list:
    """Each value once, in order of first occurrence."""
    return list(dict.fromkeys(values))


def select(
    label: str,
    options: Sequence[str],
    name: str,
    default: int = 0,
    drops: Sequence[str] = (),
    address: MutableMapping[str, str] | None = None,
    **more: Any,
) -> str:
    """A select box whose choice is the address's parameter `name`; a value that is no option counts as not given.

    A link with such a value is refused. The address decides unless the user has just chosen, so that the browser's Back
    undoes a choice. A new choice removes the parameters `drops`. Links name models with their outcome in parentheses.
    An `address` of `one_entry` is changed in place of the browser's.
    """
    check_link(label, options, name, shown=without_outcome)
    address = st.query_params if address is None else address
    requested = address.get(name, "")
    requested = requested if requested in options else without_outcome(requested)
    index = 0 if requested in options else min(default, len(options) - 1)
    key = f"{name}: {' | '.join(options)}"  # options can depend on other choices: each set is a widget of its own
    just_chosen = st.session_state.pop(f"chosen {name}", None) == key
    if requested in options and not just_chosen and st.session_state.get(key) != requested:
        st.session_state[key] = requested
    how = {"on_change": st.session_state.update, "args": ({f"chosen {name}": key},)}
    chosen = str(st.selectbox(label, options, index=index, key=key, **how, **more))
    if requested != chosen:
        for other in drops if requested else ():
            address.pop(other, None)
        address[name] = chosen
    return chosen


@contextmanager
def one_entry() -> Iterator[dict[str, str]]:
    """The address as a dict, whose changes become one entry of the browser's history at the end of the block.

    If the address has no parameters, they become no entry of their own.
    """
    place = st.empty()  # in every run, or a later one would move, and build again, what stands below
    address = st.query_params.to_dict()
    yield address
    if address == st.query_params.to_dict():
        return
    if st.query_params:
        st.query_params.from_dict(address)
    else:
        with place:
            replace_address(address)


def replace_address(address: Mapping[str, str]) -> None:
    """Put an address in place of one without parameters; a change from Python would be a new entry of the history."""
    js = "export default ({ data }) => { if (!location.search) history.replaceState({}, '', data); };"
    st.components.v2.component("sgp_address", js=js)(key="address", data=f"?{urlencode(address)}")


def several(
    label: str, options: Iterable[str], name: str, about: str | None = None, names: Mapping[str, str] | None = None
) -> list[str]:
    """A filter that is part of the address, with an explanation; nothing chosen means everything.

    `names` has the options' names to read; the address has the options, for which Streamlit's `bind` has no way.
    """
    listed = in_order(options)
    check_link(label, listed, name)
    given = st.query_params.get_all(name)
    requested = [each for each in given if each in listed]
    if given != requested:
        st.query_params[name] = requested
    if st.session_state.get(name) != requested:
        st.session_state[name] = requested

    def store() -> None:
        st.query_params[name] = st.session_state[name]

    words = str if names is None else names.__getitem__
    how = {"format_func": words, "on_change": store, "placeholder": "all", "help": about}
    return st.multiselect(label, listed, key=name, **how) or listed


END = 10**6  # past the last step of every rollout: written "end" in the address


def number(name: str, default: int) -> int:
    """A number of the address."""
    requested = st.query_params.get(name, "")
    return END if requested == "end" else int(requested) if requested.isdecimal() else default


def encoded(data: Any) -> bytes:
    """A component's data as JSON in UTF-8.

    Bytes, because Streamlit asks pandas about the values of a dict, which takes most of a second to import, and
    serialises a dict three times.
    """
    return json.dumps(data, allow_nan=False, separators=(",", ":")).encode()


def hearing(key: str, name: str, take: Callable[[Any], object]) -> Callable[[], None]:
    """The callback for a value that a component reports; a component that has been replaced may report late."""

    def heard() -> None:
        reported = st.session_state.get(key, {}).get(name)
        if reported is not None:
            take(reported)

    return heard
