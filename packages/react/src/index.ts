/** React hooks for shared worlds: begin with {@link WorldProvider}. */

export {
  useAttribute,
  useAvatar,
  useConnection,
  useEntities,
  useEntity,
  usePlayers,
  useScreen,
  useStatus,
  useWorldEvent,
} from "./hooks.js";
export { useWorld, WorldProvider } from "./provider.js";
