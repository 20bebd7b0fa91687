export * from "./gen/parley/rpc/v1/access_pb.js";
export * from "./gen/parley/rpc/v1/change_pb.js";
