// The page, put together.

import { paintClear, wireClear } from "./clear.js";
import { $, say, show } from "./dom.js";
import { Door } from "./door.js";
import { paintRun, wireRun } from "./run.js";
import { Sight } from "./sight.js";
import { paintState } from "./state.js";
import { forgetStop, wireStop } from "./stop.js";
import { Watch } from "./watch.js";

const PAINT_MS = 200;
const UNAUTHORISED = 401;

const door = new Door();
const watch = new Watch(door, paint);
const sight = new Sight(door, watch);
let wasStopped = false;

function paint() {
  const { status, run, ageMs, gone, refused } = watch;
  if (refused?.status === UNAUTHORISED && door.keyed) {
    forget(refused.words);
    return;
  }
  const view = { status, run, ageMs, gone, keyed: door.keyed, acting: door.acting };
  if (wasStopped && status?.stopped === false) forgetStop();
  wasStopped = status?.stopped ?? false;
  show($("door"), !view.keyed);
  show($("left"), view.keyed && status !== null);
  show($("right"), view.keyed && status !== null);
  paintState(view);
  paintClear(view);
  paintRun(view);
  sight.paint(view);
}

function forget(words) {
  door.keep("");
  watch.forget();
  sight.forget();
  say($("key-said"), words, words !== "");
  paint();
}

$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const kept = door.keep($("key").value.trim());
  say($("key-said"), kept ? "" : "That is no key: a key has no spaces and no umlauts.", !kept);
  $("key").value = "";
  $("stop-said").textContent = "";
  watch.wake();
  paint();
});
$("forget").addEventListener("click", () => {
  forget("");
  $("key").focus();
});

const back = () => {
  paint(); // how old things are shows before anything else
  if (!document.hidden) watch.wake();
};
document.addEventListener("visibilitychange", back);
document.addEventListener("resume", back);
window.addEventListener("pageshow", back);
window.addEventListener("online", back);
window.addEventListener("focus", back);

show($("plain"), !window.isSecureContext);
wireStop(door, watch);
wireClear(door, watch);
wireRun(door, watch);
setInterval(paint, PAINT_MS);
paint();
watch.follow();
sight.follow();
