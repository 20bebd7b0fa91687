export * from "./gen/parley/rpc/v1/calls_pb.js";
