import { afterEach, expect, test, vi } from "vitest";
import { scrubbedEnv } from "./environment.ts";

afterEach(() => vi.unstubAllEnvs());

test.each([
  "ADMIN_TOKEN",
  "CONVERSATION_TARGET",
  "DATABASE_POOL",
  "DATABASE_URL",
  "DETACHED_REPLY_MS",
  "DRAIN_MS",
  "EDGE_RPC_ADDRESS",
  "GRPC_PORT",
  "HOST",
  "JWT_ISSUER",
  "MAX_STREAMS",
  "OIDC_SCOPE",
  "OPENAI_API_KEY",
  "OPS_TLS_DIR",
  "PARLEY_QUOTA_URL",
  "PGPASSWORD",
  "OWNER_TOOL_PLANS",
  "PLAN_MODELS",
  "RECONCILE_DAYS",
  "REDIS_MODE",
])("a process that a test starts does not inherit %s", (name) => {
  vi.stubEnv(name, "1");
  expect(scrubbedEnv()).not.toHaveProperty(name);
  expect(scrubbedEnv({ [name]: "2" })[name]).toBe("2");
});

test.each(["PATH", "RPC_MULTIPLEX", "NODE_EXTRA_CA_CERTS"])("a process that a test starts inherits %s", (name) => {
  vi.stubEnv(name, "1");
  expect(scrubbedEnv()[name]).toBe("1");
});
