import { createElement } from "../shared/dom.ts";

/** Shows the events of one turn as they arrive, with the milliseconds since the request, and a summary at the end. */
export class Timeline {
  readonly #rows: HTMLElement;
  readonly #summaryList: HTMLElement;
  readonly #now: () => number;
  #startedAt = 0;
  #firstTokenMs: number | undefined;
  #tokenEvents = 0;

  constructor(rows: HTMLElement, summaryList: HTMLElement, now: () => number) {
    this.#rows = rows;
    this.#summaryList = summaryList;
    this.#now = now;
  }

  start(): void {
    this.#startedAt = this.#now();
    this.#firstTokenMs = undefined;
    this.#tokenEvents = 0;
    this.#rows.replaceChildren();
    this.#summaryList.replaceChildren();
  }

  add(name: string, data: Readonly<Record<string, unknown>>): void {
    const ms = this.#now() - this.#startedAt;
    const row = createElement("tr", {}, createElement("td", {}, ms.toFixed(0)), createElement("td", {}, name));
    row.append(createElement("td", { class: "data" }, JSON.stringify(data)));
    this.#rows.append(row);
    if (name === "token") {
      this.#firstTokenMs ??= ms;
      this.#tokenEvents++;
    }
    if (name === "done") {
      this.#showSummary(data, ms);
    }
  }

  #showSummary(data: Readonly<Record<string, unknown>>, ms: number): void {
    const summary = {
      "Finish reason": data.finish_reason,
      Model: data.model,
      "Tokens in": data.tokens_in,
      "Tokens out": data.tokens_out,
      "First token, ms": this.#firstTokenMs?.toFixed(0),
      "Total, ms": ms.toFixed(0),
      "Latency reported by Parley, ms": data.latency_ms,
      "Token events": this.#tokenEvents,
    };
    for (const [name, value] of Object.entries(summary)) {
      if (value !== undefined && value !== "") {
        this.#summaryList.append(
          createElement("div", {}, createElement("dt", {}, name), createElement("dd", {}, String(value))),
        );
      }
    }
  }
}
