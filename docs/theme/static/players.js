// A player's page tells how high it is; its frame grows to that, and never shrinks, so that the text below rests.
addEventListener("message", ({ data, source }) => {
  if (!Number.isFinite(data?.height)) return;
  for (const frame of document.querySelectorAll("iframe.player"))
    if (frame.contentWindow === source) frame.style.height = `${Math.min(2000, Math.max(frame.clientHeight, Math.ceil(data.height)))}px`;
});
