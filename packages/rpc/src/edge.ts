export * from "./gen/parley/edge/v1/admin_pb.js";
export * from "./gen/parley/edge/v1/edge_pb.js";
