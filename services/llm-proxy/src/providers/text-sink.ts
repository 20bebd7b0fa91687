/** Receives one part at a time. Under backpressure, returns a promise: the sender must wait until it resolves. */
export type Sink<Part> = (part: Part) => Promise<void> | undefined;

export type TextSink = Sink<string>;
