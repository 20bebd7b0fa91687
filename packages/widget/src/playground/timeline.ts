import { el } from "../shared/dom.ts";

/** Shows the events of one turn as they come, each with the milliseconds since the request was sent. */
export class Timeline {
  readonly #rows: HTMLElement;
  readonly #metering: HTMLElement;
  readonly #now: () => number;
  #startedAt = 0;
  #firstTokenMs: number | undefined;
  #tokens = 0;

  constructor(rows: HTMLElement, metering: HTMLElement, now: () => number) {
    this.#rows = rows;
    this.#metering = metering;
    this.#now = now;
  }

  start(): void {
    this.#startedAt = this.#now();
    this.#firstTokenMs = undefined;
    this.#tokens = 0;
    this.#rows.replaceChildren();
    this.#metering.replaceChildren();
  }

  add(name: string, data: Readonly<Record<string, unknown>>): void {
    const ms = this.#now() - this.#startedAt;
    const row = el("tr", {}, el("td", {}, ms.toFixed(0)), el("td", {}, name));
    row.append(el("td", { class: "data" }, JSON.stringify(data)));
    this.#rows.append(row);
    if (name === "token") {
      this.#firstTokenMs ??= ms;
      this.#tokens++;
    }
    if (name === "done") {
      this.#summarise(data, ms);
    }
  }

  #summarise(data: Readonly<Record<string, unknown>>, ms: number): void {
    const facts = {
      "Finish reason": data.finish_reason,
      Model: data.model,
      "Tokens in": data.tokens_in,
      "Tokens out": data.tokens_out,
      "First token, ms": this.#firstTokenMs?.toFixed(0),
      "Whole turn, ms": ms.toFixed(0),
      "Latency told, ms": data.latency_ms,
      "Token events": this.#tokens,
    };
    for (const [name, value] of Object.entries(facts)) {
      if (value !== undefined && value !== "") {
        this.#metering.append(el("div", {}, el("dt", {}, name), el("dd", {}, String(value))));
      }
    }
  }
}
