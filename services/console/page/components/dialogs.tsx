import * as AlertDialog from "@radix-ui/react-alert-dialog";
import * as Dialog from "@radix-ui/react-dialog";
import type { ReactNode } from "react";
import { t } from "../i18n/t.tsx";
import { useFocusReturn } from "./focus-return.ts";
import { Icon } from "./icon.tsx";

type ModalProps = {
  title: string;
  description?: ReactNode;
  isOpen: boolean;
  onOpenChange: (isOpen: boolean) => void;
  children: ReactNode;
};

/** Without a field, Radix focuses the first button. */
function focusFirstField(event: Event): void {
  const field = (event.target as Element).querySelector<HTMLElement>("form :is(input, textarea, select)");
  if (field === null) return;
  event.preventDefault();
  field.focus();
}

export function Modal({ title, description, isOpen, onOpenChange, children }: ModalProps) {
  const { onOpenAutoFocus, onCloseAutoFocus } = useFocusReturn();
  return (
    <Dialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content
          className="modal"
          onOpenAutoFocus={(event) => {
            onOpenAutoFocus();
            focusFirstField(event);
          }}
          onCloseAutoFocus={onCloseAutoFocus}
          // The keyCode 229 means that Escape cancelled the input of an IME. The dialog stays open.
          onEscapeKeyDown={(event) => event.keyCode === 229 && event.preventDefault()}
          // Keeps the dialog open when the user clicks an announcement. `closest` works even if the click has already removed the announcement.
          onInteractOutside={(event) => {
            if ((event.target as Element).closest(".announcement")) event.preventDefault();
          }}
          // Radix warns about a dialog without a description unless aria-describedby is explicitly undefined.
          {...(description === undefined && { "aria-describedby": undefined })}
        >
          <div className="modal-header">
            <Dialog.Title>{title}</Dialog.Title>
            <Dialog.Close className="icon-button" aria-label={t("Close")}>
              <Icon name="close" />
            </Dialog.Close>
          </div>
          {description && <Dialog.Description className="modal-description">{description}</Dialog.Description>}
          {children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

type ConfirmProps = {
  title: string;
  text: ReactNode;
  /** The label of the confirming button, such as "Revoke". */
  action: string;
  isOpen: boolean;
  onOpenChange: (isOpen: boolean) => void;
  onConfirm: () => void;
};

export function Confirm({ title, text, action, isOpen, onOpenChange, onConfirm }: ConfirmProps) {
  const focusReturn = useFocusReturn();
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className="overlay" />
        <AlertDialog.Content className="modal narrow" {...focusReturn}>
          <div className="modal-header">
            <AlertDialog.Title>{title}</AlertDialog.Title>
          </div>
          <AlertDialog.Description className="modal-description">{text}</AlertDialog.Description>
          <div className="modal-actions">
            <AlertDialog.Cancel className="button">{t("Cancel")}</AlertDialog.Cancel>
            <AlertDialog.Action className="button danger" onClick={onConfirm}>
              {action}
            </AlertDialog.Action>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
