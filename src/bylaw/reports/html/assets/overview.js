"use strict";

/* The strip above the timeline: every call, in the colour of its tool. */

const WIDEST = 22; // pixels a call takes where there are few

/** The strip. `onPick(index)` is called on a click. Redraws itself when its size changes. */
function renderOverview(data, hues, onPick, signal) {
  const items = data.steps.flatMap((step) => step.items).filter((item) => item.index !== undefined);
  const canvas = el("canvas");
  let highlight = {};
  const width = () => Math.min(WIDEST, canvas.clientWidth / Math.max(items.length, 1));
  const draw = () => drawStrip(canvas, items, hues, highlight, width());
  const at = (event) => items[Math.floor(event.offsetX / width())];

  canvas.addEventListener("click", (event) => {
    const item = at(event);
    if (item) onPick(item.index);
  });
  canvas.addEventListener("mousemove", (event) => {
    const item = at(event);
    canvas.title = !item ? "" : item.kind === "answer" ? "final answer" : `#${item.index + 1} ${item.tool}`;
    canvas.style.cursor = item ? "pointer" : "default";
  });
  const resized = new ResizeObserver(draw);
  resized.observe(canvas);
  signal.addEventListener("abort", () => resized.disconnect());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw, { signal });
  return {
    element: el("div.overview", { "aria-hidden": "true" }, items.length ? canvas : null),
    highlight(next) {
      highlight = next;
      draw();
    },
  };
}

function drawStrip(canvas, items, hues, highlight, width) {
  const { calls = [], absence = [], broken = [], picked = null } = highlight;
  const scale = devicePixelRatio || 1;
  const [wide, high] = [canvas.clientWidth, canvas.clientHeight];
  if (!wide || !high) return;
  canvas.width = wide * scale;
  canvas.height = high * scale;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const style = getComputedStyle(canvas);
  const colour = (name) => style.getPropertyValue(name).trim();
  const [lightness, chroma] = [colour("--tool-lightness"), colour("--tool-chroma")];
  const marked = calls.length + absence.length > 0;
  const gap = width > 4 ? 2 : 0;
  const box = (index, least, top, height) =>
    pen.fillRect(index * width, top, Math.max(width - gap, least), height);

  pen.globalAlpha = marked ? 0.22 : 0.85;
  const lit = new Set([...calls, ...absence, ...broken]);
  for (const [place, item] of items.entries()) {
    if (lit.has(place)) continue;
    const hue = hues.get(item.tool);
    pen.fillStyle = hue === undefined ? colour("--faint") : `oklch(${lightness} ${chroma} ${hue})`;
    box(place, 0.5, high * 0.25, high * 0.5);
  }
  // The index of a call is its place in the strip; the answer comes last.
  pen.fillStyle = colour("--focus");
  pen.globalAlpha = 0.5;
  for (const index of absence) box(index, 0.5, high * 0.25, high * 0.5);
  pen.globalAlpha = 1;
  for (const index of calls) box(index, 2, 0, high);
  pen.fillStyle = colour("--violated");
  for (const index of broken) box(index, 2, high * 0.15, high * 0.7);
  if (picked !== null) {
    pen.fillStyle = colour("--accent");
    box(picked, 2, 0, high);
  }
}
