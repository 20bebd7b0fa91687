import type { DescMethod, DescService } from "@bufbuild/protobuf";
import * as conversation from "@parley/rpc/conversation";
import * as llm from "@parley/rpc/llm";
import * as quota from "@parley/rpc/quota";
import type { ServicePorts, SharedSystem } from "../system/shared-system.ts";

/** Every method of conversation, llm-proxy and quota. Omits the services of edges and CallsService, which multiplexes calls. */
export const METHODS: readonly DescMethod[] = [conversation, quota, llm]
  .flatMap((module) => Object.values(module as object).filter((each): each is DescService => each?.kind === "service"))
  .flatMap((service) => service.methods);

export const nameOf = (method: DescMethod) => `${method.parent.typeName}/${method.name}`;

export const isAdminMethod = ({ parent }: DescMethod) => parent.name.endsWith("AdminService");

/** Returns the ports of the process that serves a service. */
export function portsOf(system: SharedSystem, { typeName }: DescService): ServicePorts {
  if (typeName.startsWith("parley.quota.")) return system.quota;
  return typeName.startsWith("parley.llm.") ? system.llm : system.conversation;
}
