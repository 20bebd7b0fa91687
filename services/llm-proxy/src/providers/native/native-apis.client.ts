import type { NativeKind } from "../../settings/index.ts";
import { anthropicApi } from "./kinds/anthropic.client.ts";
import { bedrockApi } from "./kinds/bedrock.client.ts";
import { googleApi } from "./kinds/google.client.ts";
import { mistralApi } from "./kinds/mistral.client.ts";
import { vertexApi } from "./kinds/vertex.client.ts";
import type { NativeApi } from "./native-api.ts";

export const NATIVE_APIS: Readonly<Record<NativeKind, NativeApi>> = {
  anthropic: anthropicApi,
  bedrock: bedrockApi,
  google: googleApi,
  mistral: mistralApi,
  vertex: vertexApi,
};
