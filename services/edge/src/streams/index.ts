export { OpenStreamCounts } from "./open-stream-counts.ts";
export { createSseSink, type SseOptions, SseWriter, STREAM_HEADERS, startReplyResponse } from "./sse-sink.ts";
export type { StreamHandle, StreamRegistry } from "./stream-registry.ts";
