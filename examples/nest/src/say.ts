import { WebSocket } from 'ws'

// Says each of its words in the chat once the one before is answered, and prints the answers.
const [url, ...words] = process.argv.slice(2)
const socket = new WebSocket(url!)
const say = () => {
  const word = words.shift()
  if (word === undefined) socket.close()
  else socket.send(JSON.stringify({ event: 'say', data: word }))
}
socket.on('open', say)
socket.on('message', (answer) => {
  console.log(String(answer))
  say()
})
