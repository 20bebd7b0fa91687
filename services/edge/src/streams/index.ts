export type { Streams } from "./open-streams.ts";
export { createSseSink, STREAM_HEADERS } from "./sse-sink.ts";
