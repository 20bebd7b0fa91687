import * as Dialog from "@radix-ui/react-dialog";
import type { ReactNode } from "react";
import { t } from "../i18n/t.tsx";
import { Icon } from "./icon.tsx";

type DrawerProps = {
  isOpen: boolean;
  onOpenChange: (isOpen: boolean) => void;
  /** Moves the focus after the drawer has closed. */
  onClosed: () => void;
  /** Shown at the top, beside the button that closes the drawer. */
  top: ReactNode;
  children: ReactNode;
};

/** The menu of a narrow window. */
export function Drawer({ isOpen, onOpenChange, onClosed, top, children }: DrawerProps) {
  return (
    <Dialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content
          className="drawer"
          aria-describedby={undefined}
          // Closes the drawer after a link to the screen that is already shown, too.
          onClick={({ target }) => (target as Element).closest("a") && onOpenChange(false)}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            onClosed();
          }}
        >
          <Dialog.Title className="visually-hidden">{t("Menu")}</Dialog.Title>
          <div className="drawer-top">
            {top}
            <Dialog.Close className="icon-button" aria-label={t("Close the menu")}>
              <Icon name="close" />
            </Dialog.Close>
          </div>
          {children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
