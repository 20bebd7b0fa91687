export * from "./gen/parley/llm/v1/admin_pb.js";
export * from "./gen/parley/llm/v1/llm_pb.js";
export * from "./gen/parley/llm/v1/types_pb.js";
