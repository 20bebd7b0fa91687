import type { Passage, ShownSource } from "@parley/rpc/llm";
import { type CitationMarker, CitationMarkers } from "../providers/index.ts";

/** The first citation of a passage. */
export type Citation = {
  chunkId: bigint;
  /** The footnote number of the passage's source; 0 if visitors do not see it. */
  number: number;
  shown: ShownSource | undefined;
  /** The length of the text up to the end of the citation, in UTF-16 code units. */
  offset: number;
};

export type CitedText = { text: string; citations: Citation[] };

/**
 * Replaces the markers with which a model cites passages by footnote numbers. Sources get the numbers 1, 2 and so on in the order of their first
 * citations; all passages of a source have one number. Removes the markers of passages that do not exist and of sources that visitors do not see.
 */
export class Citations {
  readonly #markers = new CitationMarkers();
  /** The footnote numbers by the ids of the sources. */
  readonly #numbers = new Map<bigint, number>();
  readonly #citedChunks = new Set<bigint>();
  /** The length of the text so far. */
  #length = 0;
  /** The footnotes since the last text. */
  #adjacent: readonly number[] = [];

  /** Replaces the markers in the next part of the text. `passages`: those of the model's prompt, in the order of their numbers from 1 on. */
  push(piece: string, passages: readonly Passage[]): CitedText {
    return this.#cite(this.#markers.push(piece), passages);
  }

  /** Returns the text that was held back. More text may follow, when the model has called tools. */
  end(passages: readonly Passage[]): CitedText {
    return this.#cite(this.#markers.end(), passages);
  }

  #cite(parts: readonly (string | CitationMarker)[], passages: readonly Passage[]): CitedText {
    let text = "";
    const citations: Citation[] = [];
    for (const part of parts) {
      if (typeof part === "string") {
        text += this.#passOn(part);
        continue;
      }
      const cited = part.numbers.flatMap((number) => passages[number - 1] ?? []);
      text += this.#writeFootnotes(part.space, cited);
      for (const { id, sourceId, shown } of cited) {
        if (this.#citedChunks.has(id)) continue;
        this.#citedChunks.add(id);
        const number = shown === undefined ? 0 : this.#numberOf(sourceId);
        citations.push({ chunkId: id, number, shown, offset: this.#length });
      }
    }
    return { text, citations };
  }

  #passOn(part: string): string {
    // In Markdown, a parenthesis directly after a footnote would make it the text of a link.
    const text = this.#adjacent.length > 0 && part.startsWith("(") ? ` ${part}` : part;
    if (part !== "") this.#adjacent = [];
    this.#length += text.length;
    return text;
  }

  #writeFootnotes(space: string, cited: readonly Passage[]): string {
    const numbers = cited.filter(({ shown }) => shown !== undefined).map(({ sourceId }) => this.#numberOf(sourceId));
    const added = [...new Set(numbers)].filter((number) => !this.#adjacent.includes(number));
    if (added.length === 0) return "";
    this.#adjacent = [...this.#adjacent, ...added];
    const text = space + added.map((number) => `[${number}]`).join("");
    this.#length += text.length;
    return text;
  }

  #numberOf(sourceId: bigint): number {
    const number = this.#numbers.get(sourceId) ?? this.#numbers.size + 1;
    this.#numbers.set(sourceId, number);
    return number;
  }
}
