// Asks again and again how things are. What is shown is what the daemon read, never what was asked
// for. Each answer has a number: an old one is passed over, a new daemon makes everything new.

import { ageMs } from "./fresh.js";

const PERIOD_MS = 400;
const GAP_MS = 5000; // after that runs may have come and gone: the newest is looked up

export const GONE_MS = 2500; // after that what is shown counts as old

export class Watch {
  status = null;
  run = null;
  heard = null; // when the last good answer was asked for
  refused = null; // the last answer, if it was no good one

  #door;
  #changed;
  #runId = "";
  #lookUp = true;
  #wake = () => {};

  constructor(door, changed) {
    this.#door = door;
    this.#changed = changed;
  }

  get ageMs() {
    return ageMs(this.heard);
  }

  get gone() {
    return this.ageMs > GONE_MS;
  }

  // Ask now, and believe nothing that was asked before a sleep.
  wake() {
    this.#door.dropReads();
    this.#wake();
  }

  // Show this run, which was just started.
  show(id) {
    this.#runId = id;
    this.wake();
  }

  forget() {
    this.status = this.run = this.heard = this.refused = null;
    this.#runId = "";
    this.#lookUp = true;
  }

  async follow() {
    for (;;) {
      let pauseMs = PERIOD_MS;
      if (this.#door.keyed && !document.hidden) {
        pauseMs += await this.#round();
        this.#changed();
      }
      await new Promise((done) => {
        const timer = setTimeout(done, pauseMs);
        this.#wake = () => { clearTimeout(timer); done(); };
      });
    }
  }

  // One look at everything; how many ms longer than usual to wait until the next.
  async #round() {
    const answer = await this.#door.read("/status");
    this.refused = answer.ok ? null : answer;
    if (!answer.ok) return 1000 * Number(answer.headers.get("Retry-After") ?? 0);
    if (this.#accept(answer)) await this.#followRun();
    return 0;
  }

  #accept({ body, sent }) {
    const before = this.status?.reading;
    const same = before?.daemon === body.reading.daemon;
    if (same && body.reading.number <= before.number) return false;
    if (!same) {
      this.run = null;
      this.#runId = "";
    }
    if (!same || this.ageMs > GAP_MS) this.#lookUp = true;
    this.status = body;
    this.heard = sent;
    return true;
  }

  async #followRun() {
    const active = this.status.run?.id;
    if (active) this.#runId = active;
    else if (this.#lookUp) await this.#newest();
    const known = this.run?.id === this.#runId && this.run.state === "ended";
    if (!this.#runId || known) return;
    const answer = await this.#door.read(`/runs/${encodeURIComponent(this.#runId)}`);
    if (answer.ok) this.run = answer.body;
  }

  async #newest() {
    const answer = await this.#door.read("/runs");
    if (!answer.ok) return;
    this.#lookUp = false;
    this.#runId = answer.body.runs[0]?.id ?? "";
  }
}
