export type { RecordRefusal, RefusalRecord } from "./refusal-recorder.ts";
