export { type Channel, type ChannelOptions, openChannel } from "./channel.ts";
export { type CallObserver, type CallOptions, createClient, type RpcClient } from "./client.ts";
export { CODE_METADATA_KEY } from "./code.ts";
export { CALL_CANCELLED, isParleyError, RpcError, status } from "./error.ts";
export { GrpcTransport } from "./grpc-transport.ts";
export { toMethodDefinition, toServiceDefinition } from "./method-definition.ts";
export {
  type CallContext,
  type Interceptor,
  implementService,
  requireValid,
  type ServedMethod,
  type ServiceImplementation,
} from "./server.ts";
export type { Call, CallTransport, MetadataWriter } from "./transport.ts";
