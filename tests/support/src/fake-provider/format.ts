import type { ChatRequest } from "./chat-request.ts";
import type { Reply, Usage } from "./reply.ts";

/** How a provider's API writes a streamed completion. Each function returns the lines of whole events, without the blank lines between them. */
export interface StreamFormat {
  begin: string[];
  /** What the model thinks before its reply. */
  thoughts(thoughts: NonNullable<Reply["thoughts"]>): string[];
  text(content: string): string[];
  toolCalls(calls: NonNullable<Reply["toolCalls"]>): string[];
  error: string[];
  finish(reason: NonNullable<Reply["finishReason"]>): string[];
  /** What follows the finish reason. */
  end(usage: Usage | null): string[];
  comment: string;
  /** The content type of the response; default: that of Server-Sent Events. */
  contentType?: string;
  /** Returns the bytes of an event. Without it, the event is a Server-Sent Event. */
  encode?(event: string): Buffer;
}

export type CreateFormat = (chat: ChatRequest, reply: Reply) => StreamFormat;

export const eventOf = (data: object, name?: string): string =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}`;
