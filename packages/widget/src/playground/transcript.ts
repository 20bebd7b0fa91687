import { createElement } from "../shared/dom.ts";
import { Failure } from "../shared/failure.ts";
import { renderMarkdown } from "../shared/render-markdown.ts";
import type { PlaygroundWords } from "./english.ts";

/** An exported message, with only the fields that the page shows. */
interface ExportedMessage {
  readonly id: string;
  readonly role: string;
  readonly content: string;
  readonly rating: string;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly latency_ms: number;
  readonly status: string;
  readonly error_message: string;
  readonly rag_chunks_used: readonly number[];
}

/** Fetches a session's transcript, a JSON document. Throws a Failure. */
export async function fetchExport(sessionId: string, token: string): Promise<string> {
  const response = await fetch(`/api/conversations/${sessionId}/export.json`, {
    headers: { Authorization: `Bearer ${token}` },
    credentials: "omit",
  }).catch(throwConnectionFailure);
  if (!response.ok) {
    throw await Failure.from(response);
  }
  return response.text().catch(throwConnectionFailure);
}

function throwConnectionFailure(): never {
  throw new Failure(navigator.onLine ? "network" : "offline");
}

/** Creates one table row per message of a transcript. */
export function createTranscriptRows(transcript: string, words: PlaygroundWords): HTMLTableRowElement[] {
  const { messages } = JSON.parse(transcript) as { messages: readonly ExportedMessage[] };
  return messages.map((message) => {
    const chunks = message.rag_chunks_used;
    const content = createElement("td", { class: "content", dir: "auto" });
    if (message.role === "assistant") {
      renderMarkdown(content, message.content);
    } else {
      content.textContent = message.content;
    }
    const otherCells = [
      [message.status, message.error_message].filter(Boolean).join(": "),
      chunks.join(", ") || words.none,
      String(message.tokens_in),
      String(message.tokens_out),
      String(message.latency_ms),
      message.rating || words.none,
    ];
    return createElement(
      "tr",
      {},
      createElement("td", {}, message.id),
      createElement("td", {}, message.role),
      content,
      ...otherCells.map((text) => createElement("td", {}, createElement("bdi", {}, text))),
    );
  });
}
