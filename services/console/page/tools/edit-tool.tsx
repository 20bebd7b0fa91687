import { type HttpTool, HttpToolSchema, type Tool, ToolSchema } from "@parley/rpc/llm";
import { limitsOf } from "@parley/rpc/rules";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { tools } from "../api/clients.ts";
import { toolChecksQuery, toolsQuery } from "../api/queries.ts";
import { useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Modal } from "../components/dialogs.tsx";
import { SelectField, TextArea, TextField } from "../components/field.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { t } from "../i18n/t.tsx";
import { namesInAddress, parseParameters, toParameters, withNamesInAddress } from "./parameters.ts";
import { Values } from "./values.tsx";

const METHODS = [
  ["GET", t("Look something up (GET)")],
  ["POST", t("Send something (POST)")],
] as const;

/** An owner's tool that the form can show. */
export type EditableTool = { name: string; http: HttpTool };

/** Returns the tool if an owner can edit it with the form. */
export function toEditable({ name, byOwner, kind }: Tool): EditableTool | undefined {
  const isShown = byOwner && kind.case === "http" && METHODS.some(([method]) => method === kind.value.method);
  return isShown && parseParameters(kind.value.parameters) ? { name, http: kind.value } : undefined;
}

/** A dialog that changes `tool` or, without one, adds a tool that sends an HTTP request. */
export function EditTool({ botSlug, tool, onClose }: { botSlug: string; tool?: EditableTool; onClose: () => void }) {
  const { workspace_id: workspaceId } = useSession();
  const [name, setName] = useState(tool?.name ?? "");
  const [description, setDescription] = useState(tool?.http.description ?? "");
  const [url, setUrl] = useState(tool?.http.url ?? "");
  const [method, setMethod] = useState(tool?.http.method ?? "GET");
  const [values, setValues] = useState(() => parseParameters(tool?.http.parameters ?? "") ?? []);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const saving = useMutation({
    mutationFn: () => {
      const http = { description, url, method, parameters: toParameters(values) };
      return tools.putTool({ workspaceId, botSlug, tool: { name, kind: { case: "http", value: http } } });
    },
    onSuccess: () => {
      announce(
        tool
          ? t("The tool was changed. The bot uses it within seconds.")
          : t("The tool was added. The bot uses it within seconds."),
      );
      void queryClient.invalidateQueries(toolsQuery(workspaceId, botSlug));
      void queryClient.invalidateQueries(toolChecksQuery(workspaceId, botSlug));
    },
  });
  const action = tool ? t("Save tool") : t("Add tool");
  return (
    <Modal
      title={tool ? t("Change the tool") : t("New tool")}
      description={t(
        "The bot can ask an address of yours while it answers, for example for the state of an order. Anybody can make the bot do so, so the address must not reveal or change what a visitor may not see or change.",
      )}
      isOpen
      onOpenChange={onClose}
    >
      <MutationForm mutation={saving} action={action} pendingAction={t("Saving…")} onClose={onClose}>
        <TextField
          label={t("Name")}
          hint={
            tool
              ? t("The name cannot be changed.")
              : t("For the bot, such as look_up_order: letters, digits, hyphens and _.")
          }
          formatError={t("Begin with a letter, and use only the letters a to z, digits, hyphens and _, at most 32.")}
          required
          readOnly={tool !== undefined}
          pattern="[A-Za-z][A-Za-z0-9_\-]*"
          maxLength={limitsOf(ToolSchema.field.name).max}
          spellCheck={false}
          value={name}
          onChange={({ target }) => setName(target.value)}
        />
        <TextArea
          label={t("What it does, and when to use it")}
          hint={t(
            "The bot decides by this text. For example: Returns the state of an order. Use it when a visitor asks where an order is.",
          )}
          required
          rows={3}
          maxLength={limitsOf(HttpToolSchema.field.description).max}
          value={description}
          onChange={({ target }) => setDescription(target.value)}
        />
        <SelectField label={t("Purpose")} options={METHODS} value={method} onChange={setMethod} />
        <TextField
          label={t("Address")}
          hint={t("A public address that begins with https://. The bot fills in names in braces: {example}", {
            example: "https://shop.example/orders/{number}",
          })}
          formatError={t("Write the whole address, beginning with https://.")}
          type="url"
          pattern="https://.*"
          required
          maxLength={limitsOf(HttpToolSchema.field.url).max}
          value={url}
          onChange={({ target }) => setUrl(target.value)}
          onBlur={() => setValues((before) => withNamesInAddress(before, url))}
        />
        <Values values={values} fixedNames={namesInAddress(url)} onChange={setValues} />
      </MutationForm>
    </Modal>
  );
}
