import { usePlayers, useScreen, WorldProvider } from "@nowcast/react";

function Board() {
  const score = useScreen<{ red: number; blue: number }>("score");
  const names = usePlayers().map(({ name }) => name);
  return <p>{`${score?.red ?? 0}:${score?.blue ?? 0} ${names.join(", ")}`}</p>;
}

export function App() {
  return (
    <WorldProvider url="/r/football" options={{ name: "Ada" }}>
      <Board />
    </WorldProvider>
  );
}
