// The table: the last picture with what was believed of it, and what was not and why.

import { $, fill, made, text } from "./dom.js";
import { ageMs, ageWords, stamp } from "./fresh.js";

const PERIOD_MS = 1000;
const OLD_MS = 5000;
const INK = { seen: "#3ddc84", rejected: "#ff6b6b", disputed: "#ffb84d", unclear: "#ffb84d" };
const WORDS = { seen: "seen", rejected: "not believed", disputed: "disputed", unclear: "several" };

export class Sight {
  #door;
  #watch;
  #scene = null;
  #taken = null; // when the picture shown was taken, as a stamp
  #said = "";

  constructor(door, watch) {
    this.#door = door;
    this.#watch = watch;
  }

  async follow() {
    for (;;) {
      const usable = this.#door.keyed && !document.hidden && !this.#watch.gone;
      if (usable && this.#watch.status.camera.state !== "none") await this.#look();
      await new Promise((done) => setTimeout(done, PERIOD_MS));
    }
  }

  forget() {
    this.#scene = this.#taken = null;
  }

  // The scene, then the picture that belongs to it. A picture of another look gets no boxes.
  async #look() {
    const answer = await this.#door.read("/scene", "picture");
    if (answer.status === 0 || answer.status === 429) return;
    this.#said = answer.ok ? "" : answer.words;
    const got = await this.#door.read("/camera.jpg?last", "picture", true);
    if (!got.ok) return;
    const fits = answer.ok && Math.abs(Number(got.headers.get("Taken-S")) - answer.body.taken_s) < 0.002;
    if (answer.ok && !fits) return; // somebody else looked in between: the next round has both
    this.#scene = answer.ok ? answer.body : null;
    if (answer.ok) this.#taken = before(answer.sent, answer.body.age_s);
    else if (this.#taken === null) this.#taken = got.sent;
    draw(await createImageBitmap(got.body), claimsOf(this.#scene));
  }

  paint({ status }) {
    const old = this.#taken === null || ageMs(this.#taken) > OLD_MS;
    $("frame").classList.toggle("old", old);
    text($("picture-age"), this.#taken === null ? "" : ageWords(ageMs(this.#taken)));
    const none = status?.camera.state === "none" ? status.camera.next || "There is no camera: set [camera] source." : "";
    text($("sight-said"), none || this.#said);
    fill($("claims"), [claimsOf(this.#scene), this.#scene?.notes ?? []], listed);
  }
}

function before(since, seconds) {
  const now = since ?? stamp();
  return { steady: now.steady - 1000 * seconds, wall: now.wall - 1000 * seconds };
}

function claimsOf(scene) {
  if (!scene) return [];
  const several = new Set(scene.ambiguous.map((one) => one.label));
  const disputes = new Map(scene.disputed.map((one) => [JSON.stringify(one.box), one.reason]));
  const seen = scene.objects.map((one) => {
    const reason = disputes.get(JSON.stringify(one.box));
    const kind = reason ? "disputed" : several.has(one.label) ? "unclear" : "seen";
    return { kind, label: one.label, box: one.box, more: `x ${one.x.toFixed(3)}, y ${one.y.toFixed(3)} m. ${reason ?? ""}` };
  });
  const not = scene.rejected.map((one) => (
    { kind: "rejected", label: one.label, box: one.box, more: one.reasons.join(" ") }));
  return [...seen, ...not];
}

function listed([claims, notes]) {
  const items = claims.map(({ kind, label, more }) => {
    const item = made("li", kind);
    item.append(made("span", "tag", WORDS[kind]), ` ${label}: ${more}`);
    return item;
  });
  return [...items, ...notes.map((note) => made("li", "", note))];
}

function draw(picture, claims) {
  const canvas = $("picture");
  canvas.width = picture.width;
  canvas.height = picture.height;
  const pen = canvas.getContext("2d");
  pen.drawImage(picture, 0, 0);
  picture.close();
  const unit = canvas.width / (canvas.clientWidth || canvas.width); // so that words keep their size
  for (const claim of claims.toReversed()) box(pen, claim, unit); // what is believed lies on top
  const words = claims.map(({ kind, label }) => `${label} (${WORDS[kind]})`).join(", ");
  canvas.setAttribute("aria-label", `Picture of the table: ${words || "nothing is seen on it"}`);
}

function box(pen, { kind, label, box: [x1, y1, x2, y2] }, unit) {
  pen.lineWidth = 2.5 * unit;
  pen.strokeStyle = INK[kind];
  pen.setLineDash(kind === "seen" ? [] : [6 * unit, 4 * unit]);
  pen.strokeRect(x1, y1, x2 - x1, y2 - y1);
  pen.font = `600 ${13 * unit}px system-ui, sans-serif`;
  const words = kind === "seen" ? label : `${WORDS[kind]}: ${label}`;
  const width = pen.measureText(words).width + 8 * unit;
  const left = Math.max(0, Math.min(x1, pen.canvas.width - width));
  const top = y1 > 20 * unit ? y1 - 20 * unit : y2 + 2 * unit;
  pen.fillStyle = "#000c";
  pen.fillRect(left, top, width, 18 * unit);
  pen.fillStyle = INK[kind];
  pen.fillText(words, left + 4 * unit, top + 14 * unit);
}
