import { type Server, ServerCredentials } from "@grpc/grpc-js";

/** Binds a gRPC server to 127.0.0.1 without TLS, on a free port unless one is given. Returns the port. */
export function listen(server: Server, port = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
}
