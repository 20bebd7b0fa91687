export { type Channel, type ChannelOptions, openChannel } from "./channel.ts";
export { type CallObserver, type CallOptions, createClient, type RpcClient, type Sharing } from "./client.ts";
export { CODE_METADATA_KEY } from "./code.ts";
export { serviceDefinition } from "./definition.ts";
export { RpcError, status } from "./error.ts";
export { type CallContext, type Interceptor, implementService, type ServiceImplementation } from "./server.ts";
