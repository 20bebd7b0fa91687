import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CallContext } from "@parley/rpc";
import type { DescribeToolsRequest, DescribeToolsResponseSchema } from "@parley/rpc/llm";
import type { ToolboxFactory } from "./tools.service.ts";

/** Describes what a bot's tools offer to a model. */
export async function handleDescribeTools(
  toolboxFactory: Pick<ToolboxFactory, "describeTools">,
  { workspaceId, tools }: DescribeToolsRequest,
  { signal }: Pick<CallContext, "signal">,
): Promise<MessageInitShape<typeof DescribeToolsResponseSchema>> {
  const described = await toolboxFactory.describeTools(tools, { workspaceId, turnId: "" }, signal);
  return {
    tools: described.map(({ name, functions, omitted, failure }) => ({
      name,
      functions: [...functions],
      omitted: [...omitted],
      failure,
    })),
  };
}
