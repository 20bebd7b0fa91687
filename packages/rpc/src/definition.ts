import {
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  type Message,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { MethodDefinition, ServiceDefinition } from "@grpc/grpc-js";

// A message lives in one buffer of its own, so a view of it is enough: grpc-js copies when it frames.
function encode<S extends DescMessage>(schema: S): (message: MessageShape<S>) => Buffer {
  return (message) => {
    const bytes = toBinary<S>(schema, message);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
}

function decode<S extends DescMessage>(schema: S): (bytes: Buffer) => MessageShape<S> {
  return (bytes) => fromBinary<S>(schema, bytes);
}

/** A method as grpc-js knows it. */
export type Definition = MethodDefinition<Message, Message>;

/** How grpc-js names, writes and reads one method of a protobuf-es service. */
export function methodDefinition<I extends DescMessage, O extends DescMessage>(
  method: DescMethod & { input: I; output: O },
): MethodDefinition<MessageShape<I>, MessageShape<O>> {
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming",
    responseStream: method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming",
    requestSerialize: encode<I>(method.input),
    requestDeserialize: decode<I>(method.input),
    responseSerialize: encode<O>(method.output),
    responseDeserialize: decode<O>(method.output),
  };
}

/** How grpc-js sees a whole protobuf-es service, keyed by method name as in the proto. */
export function serviceDefinition(service: DescService): ServiceDefinition {
  return Object.fromEntries(service.methods.map((method) => [method.name, methodDefinition(method)]));
}
