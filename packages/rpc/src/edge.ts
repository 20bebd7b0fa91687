export * from "./gen/parley/edge/v1/edge_pb.js";
