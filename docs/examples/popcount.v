// Ones among 15 bits, and whether they are the majority.
module popcount(input [14:0] x, output reg [3:0] ones, output most);
  integer i;
  always @* begin
    ones = 0;
    for (i = 0; i < 15; i = i + 1) ones = ones + {3'b0, x[i]};
  end
  assign most = ones > 7;
endmodule
