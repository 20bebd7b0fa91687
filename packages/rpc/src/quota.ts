export * from "./gen/parley/quota/v1/admin_pb.js";
export * from "./gen/parley/quota/v1/quota_pb.js";
export * from "./gen/parley/quota/v1/types_pb.js";
