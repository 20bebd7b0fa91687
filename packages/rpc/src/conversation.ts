export * from "./gen/parley/conversation/v1/admin_pb.js";
export * from "./gen/parley/conversation/v1/conversation_pb.js";
