import { createElement } from "../shared/dom.ts";
import type { PlaygroundWords } from "./english.ts";

/** Shows the events of one turn as they arrive, with the milliseconds since the request, and a summary at the end. */
export class Timeline {
  readonly #rows: HTMLElement;
  readonly #summaryList: HTMLElement;
  readonly #words: PlaygroundWords;
  readonly #now: () => number;
  #startedAt = 0;
  #firstTokenMs: number | undefined;
  #tokenEvents = 0;

  constructor(rows: HTMLElement, summaryList: HTMLElement, words: PlaygroundWords, now: () => number) {
    this.#rows = rows;
    this.#summaryList = summaryList;
    this.#words = words;
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
    const row = createElement(
      "tr",
      {},
      createElement("td", {}, ms.toFixed(0)),
      createElement("td", { dir: "ltr" }, name),
    );
    row.append(createElement("td", { class: "data", dir: "ltr" }, JSON.stringify(data)));
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
    const summary = [
      ["finishReason", data.finish_reason],
      ["model", data.model],
      ["tokensIn", data.tokens_in],
      ["tokensOut", data.tokens_out],
      ["firstToken", this.#firstTokenMs?.toFixed(0)],
      ["total", ms.toFixed(0)],
      ["latency", data.latency_ms],
      ["tokenEvents", this.#tokenEvents],
    ] as const;
    for (const [key, value] of summary) {
      if (value !== undefined && value !== "") {
        this.#summaryList.append(
          createElement(
            "div",
            {},
            createElement("dt", {}, this.#words[key]),
            createElement("dd", {}, createElement("bdi", {}, String(value))),
          ),
        );
      }
    }
  }
}
