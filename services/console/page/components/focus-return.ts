import { useRef } from "react";
import { rememberFocus } from "./focus-neighbour.ts";

/**
 * Returns the properties of a dialog's content that move the focus back to what opened the dialog. Radix moves it back only to a Dialog.Trigger,
 * and these dialogs have none.
 */
export function useFocusReturn() {
  const returnFocus = useRef<(() => void) | undefined>(undefined);
  return {
    onOpenAutoFocus: () => {
      returnFocus.current = rememberFocus();
    },
    onCloseAutoFocus: (event: Event) => {
      event.preventDefault();
      returnFocus.current?.();
    },
  };
}
