/** Receives one part at a time. Returns a promise when the sender must wait until it resolves: backpressure. */
export type Sink<Part> = (part: Part) => Promise<void> | undefined;

export type TextSink = Sink<string>;
